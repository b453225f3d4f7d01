select
    certification_id,
    suite,
    target,
    target_fingerprint,
    cases_digest,
    report
from conformance_reports
where
    suite = $suite
    and target = $target
    and (passed or not $passed_only)
order by certified_at desc, certification_id desc
limit 1
