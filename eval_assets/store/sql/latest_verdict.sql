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
where suite = $suite and candidate = $candidate
order by decided_at desc, verdict_id desc
limit 1
