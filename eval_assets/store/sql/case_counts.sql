select
    case_hash,
    metric,
    count(*) filter (where passed) as passes,
    count(passed) as scored,
    count(*) - count(passed) as unscored
from scores
where scoring_id = $scoring_id
group by case_hash, metric
order by case_hash, metric
