insert into conformance_reports by name
select
    $certification_id as certification_id,
    $suite as suite,
    $target as target,
    $target_fingerprint as target_fingerprint,
    $cases_digest as cases_digest,
    $passed as passed,
    $score::double as score,
    $passing as passing,
    $failing as failing,
    $unmeasured as unmeasured,
    $report::json as report,
    $certified_at::timestamptz as certified_at
