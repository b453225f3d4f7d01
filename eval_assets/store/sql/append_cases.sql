insert into cases by name
with rows as (
    select unnest(
        from_json(
            $cases::json,
            '[{
                "position": "integer",
                "case_name": "varchar",
                "case_hash": "varchar",
                "input": "varchar",
                "messages": "varchar",
                "want": "varchar",
                "tags": ["varchar"],
                "tools": "varchar",
                "expect": "varchar"
            }]'
        )
    ) as row
)

select
    $case_set_hash as case_set_hash,
    $content_hash as content_hash,
    row.position as position,
    row.case_name as case_name,
    row.case_hash as case_hash,
    row.input as input,
    row.messages::json as messages,
    row.want::json as want,
    row.tags as tags,
    row.tools::json as tools,
    row.expect::json as expect
from rows
order by position
