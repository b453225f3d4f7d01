with counted as (
    select count(*) as copies
    from run_outputs
    where evaluation_id = $evaluation_id
    group by case_hash, run_index
)

select
    count(*) as finished,
    coalesce(sum(copies), 0)::bigint as lines
from counted
