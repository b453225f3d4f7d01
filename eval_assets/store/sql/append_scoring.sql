insert into scorings by name
select
    $scoring_id as scoring_id,
    $evaluation_id as evaluation_id,
    $metrics::varchar[] as metrics,
    $governance::varchar[] as governance,
    $judges::json as judges,
    $unavailable_as as unavailable_as,
    $score_count as score_count,
    $scored_at::timestamptz as scored_at
