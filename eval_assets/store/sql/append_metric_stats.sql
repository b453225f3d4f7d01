insert into metric_stats by name
with rows as (
    select unnest(
        from_json(
            $stats::json,
            '[{
                "scope": "varchar",
                "scope_name": "varchar",
                "metric": "varchar",
                "passes": "bigint",
                "scored": "bigint",
                "unscored": "bigint",
                "rate": "double",
                "ci_low": "double",
                "ci_high": "double"
            }]'
        )
    ) as row
)

select
    $report_id as report_id,
    row.scope as scope,
    row.scope_name as scope_name,
    row.metric as metric,
    row.passes as passes,
    row.scored as scored,
    row.unscored as unscored,
    row.rate as rate,
    row.ci_low as ci_low,
    row.ci_high as ci_high
from rows
