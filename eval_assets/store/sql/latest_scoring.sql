select scoring_id
from scorings
where evaluation_id = $evaluation_id
order by scored_at desc, scoring_id desc
limit 1
