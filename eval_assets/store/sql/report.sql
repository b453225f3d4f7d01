select
    report_id,
    suite,
    target,
    evaluation_id,
    target_fingerprint,
    report
from reports
where report_id = $report_id
limit 1
