select count(*) as errors
from run_outputs
where evaluation_id = $evaluation_id and error is not null and not unavailable
