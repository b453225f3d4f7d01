insert into reports by name
select
    $report_id as report_id,
    $suite as suite,
    $target as target,
    $evaluation_id as evaluation_id,
    $scoring_id as scoring_id,
    $target_fingerprint as target_fingerprint,
    $model_id as model_id,
    $case_set_hash as case_set_hash,
    $runs_per_case as runs_per_case,
    $total_runs as total_runs,
    $latency_p50::bigint as latency_p50,
    $latency_p95::bigint as latency_p95,
    $report::json as report,
    $created_at::timestamptz as created_at
