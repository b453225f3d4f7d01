select
    metrics,
    governance,
    judges,
    unavailable_as
from scorings
where scoring_id = $scoring_id
limit 1
