insert into evaluations by name
select
    $evaluation_id as evaluation_id,
    $suite as suite,
    $target as target,
    $case_set_hash as case_set_hash,
    $target_fingerprint as target_fingerprint,
    $target_spec::json as target_spec,
    $runs_per_case as runs_per_case,
    $total_runs as total_runs,
    $nonce as nonce,
    $model_id as model_id,
    $temperature::double as temperature,
    $seed::bigint as seed,
    $replayed_from as replayed_from,
    $price::json as price,
    $started_at::timestamptz as started_at,
    $finished_at::timestamptz as finished_at,
    now() as stored_at
