insert into metric_comparisons by name
with rows as (
    select unnest(
        from_json(
            $metrics::json,
            '[{
                "metric": "varchar",
                "old_rate": "double",
                "new_rate": "double",
                "rate_delta": "double",
                "old_passes": "bigint",
                "old_scored": "bigint",
                "old_unscored": "bigint",
                "new_passes": "bigint",
                "new_scored": "bigint",
                "new_unscored": "bigint",
                "p_value": "double",
                "adjusted_p": "double",
                "significant": "boolean",
                "direction": "varchar",
                "note": "varchar",
                "extensions": "json"
            }]'
        )
    ) as row
)

select
    $comparison_id as comparison_id,
    row.metric as metric,
    row.old_rate as old_rate,
    row.new_rate as new_rate,
    row.rate_delta as rate_delta,
    row.old_passes as old_passes,
    row.old_scored as old_scored,
    row.old_unscored as old_unscored,
    row.new_passes as new_passes,
    row.new_scored as new_scored,
    row.new_unscored as new_unscored,
    row.p_value as p_value,
    row.adjusted_p as adjusted_p,
    row.significant as significant,
    row.direction as direction,
    row.note as note,
    row.extensions as extensions
from rows
