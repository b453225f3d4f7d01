select 1 as found
from scorings
where scoring_id = $scoring_id
limit 1
