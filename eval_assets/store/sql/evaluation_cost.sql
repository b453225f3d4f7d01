-- A total over runs of which one is unknown is unknown.
select
    coalesce(sum(cost_usd), 0) as known,
    count(*) filter (where cost_usd is null) as runs_without_usage,
    case when count(*) = count(cost_usd) then sum(cost_usd) end as total
from run_costs
where evaluation_id = $evaluation_id
