select
    metrics,
    governance,
    judges
from scorings
where scoring_id = $scoring_id
limit 1
