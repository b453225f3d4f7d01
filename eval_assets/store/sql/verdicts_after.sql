-- Ranked, so that verdicts of one moment are never split: a reader goes on from the moment of the last one.
select
    verdict_id,
    comparison_id,
    suite,
    candidate,
    baseline_report_id,
    candidate_report_id,
    outcome,
    reasons,
    decided_by,
    decided_at
from verdicts
where
    suite = $suite
    and ($decided_at::timestamptz is null or decided_at > $decided_at)
qualify rank() over (order by decided_at) <= $limit
order by decided_at, verdict_id
