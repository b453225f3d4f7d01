select
    report_id,
    suite,
    target,
    evaluation_id,
    target_fingerprint,
    report
from reports
where suite = $suite and target = $target
order by created_at desc, report_id desc
limit 1
