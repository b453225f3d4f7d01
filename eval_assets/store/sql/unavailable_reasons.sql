select
    error as reason,
    count(*) as runs
from run_outputs
where evaluation_id = $evaluation_id and unavailable
group by error
order by runs desc, reason
