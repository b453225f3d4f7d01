-- Append-only, and nothing that a DuckLake lacks: no keys, constraints, indexes, sequences or enums.

create table case_sets (
    suite varchar,
    case_set_hash varchar,
    content_hash varchar,
    case_count integer,
    registered_at timestamptz
);

create table cases (
    case_set_hash varchar,
    content_hash varchar,
    position integer,
    case_name varchar,
    case_hash varchar,
    input varchar,
    messages json,
    want json,
    tags varchar[],
    tools json,
    expect json
);

create table evaluations (
    evaluation_id varchar,
    suite varchar,
    target varchar,
    case_set_hash varchar,
    target_fingerprint varchar,
    target_spec json,
    runs_per_case integer,
    total_runs bigint,
    nonce varchar,
    model_id varchar,
    temperature double,
    seed bigint,
    replayed_from varchar,
    price json,
    started_at timestamptz,
    finished_at timestamptz,
    stored_at timestamptz
);

create table run_outputs (
    evaluation_id varchar,
    case_name varchar,
    case_hash varchar,
    run_index integer,
    run_id varchar,
    final varchar,
    messages json,
    tool_calls varchar[],
    steps integer,
    output_digest varchar,
    output_characters integer,
    stated_trajectory json,
    error varchar,
    unavailable boolean,
    trace_error varchar,
    latency_s double,
    input_tokens bigint,
    output_tokens bigint,
    finish_reason varchar,
    response_id varchar,
    served_by varchar,
    attempts integer,
    scores json,
    started_at timestamptz
);

create table scorings (
    scoring_id varchar,
    evaluation_id varchar,
    metrics varchar[],
    governance varchar[],
    judges json,
    unavailable_as varchar,
    score_count bigint,
    scored_at timestamptz
);

create table scores (
    evaluation_id varchar,
    scoring_id varchar,
    case_hash varchar,
    run_index integer,
    metric varchar,
    passed boolean,
    reason varchar,
    detail json
);

create table reports (
    report_id varchar,
    suite varchar,
    target varchar,
    evaluation_id varchar,
    scoring_id varchar,
    target_fingerprint varchar,
    model_id varchar,
    case_set_hash varchar,
    runs_per_case integer,
    total_runs bigint,
    latency_p50 bigint,
    latency_p95 bigint,
    report json,
    created_at timestamptz
);

create table metric_stats (
    report_id varchar,
    scope varchar,
    scope_name varchar,
    metric varchar,
    passes bigint,
    scored bigint,
    unscored bigint,
    rate double,
    ci_low double,
    ci_high double
);

create table comparisons (
    comparison_id varchar,
    suite varchar,
    candidate varchar,
    baseline_report_id varchar,
    candidate_report_id varchar,
    outcome varchar,
    policy json,
    comparison json,
    compared_at timestamptz
);

create table metric_comparisons (
    comparison_id varchar,
    metric varchar,
    old_rate double,
    new_rate double,
    rate_delta double,
    old_passes bigint,
    old_scored bigint,
    old_unscored bigint,
    new_passes bigint,
    new_scored bigint,
    new_unscored bigint,
    p_value double,
    adjusted_p double,
    significant boolean,
    direction varchar,
    note varchar,
    extensions json
);

create table verdicts (
    verdict_id varchar,
    comparison_id varchar,
    suite varchar,
    candidate varchar,
    baseline_report_id varchar,
    candidate_report_id varchar,
    outcome varchar,
    reasons varchar[],
    decided_by varchar,
    decided_at timestamptz
);

create table promotions (
    promotion_id varchar,
    verdict_id varchar,
    suite varchar,
    candidate varchar,
    baseline_report_id varchar,
    candidate_report_id varchar,
    reason varchar,
    promoted_by varchar,
    promoted_at timestamptz
);

create table conformance_reports (
    certification_id varchar,
    suite varchar,
    target varchar,
    target_fingerprint varchar,
    cases_digest varchar,
    passed boolean,
    score double,
    passing integer,
    failing integer,
    unmeasured integer,
    report json,
    certified_at timestamptz
);

-- What a run cost in US dollars: null where it did not say what it used, or where nobody said the price.
create view run_costs as
select
    run_outputs.evaluation_id,
    evaluations.suite,
    evaluations.target,
    run_outputs.case_name,
    run_outputs.case_hash,
    run_outputs.run_index,
    run_outputs.input_tokens,
    run_outputs.output_tokens,
    (
        run_outputs.input_tokens * (evaluations.price ->> 'input_per_million')::double
        + run_outputs.output_tokens * (evaluations.price ->> 'output_per_million')::double
    ) / 1000000 as cost_usd
from run_outputs
inner join evaluations using (evaluation_id);

create view latest_cases as
with latest_contents as (
    select case_set_hash, content_hash
    from case_sets
    qualify row_number() over (partition by case_set_hash order by registered_at desc, content_hash) = 1
)

select
    cases.case_set_hash,
    cases.position,
    cases.case_name,
    cases.case_hash,
    cases.input,
    cases.messages,
    cases.want,
    cases.tags,
    cases.tools,
    cases.expect
from cases
inner join latest_contents using (case_set_hash, content_hash)
qualify row_number() over (partition by cases.case_set_hash, cases.position) = 1;

create view latest_scores as
with latest_scorings as (
    select scoring_id
    from scorings
    qualify row_number() over (partition by evaluation_id order by scored_at desc, scoring_id desc) = 1
)

select
    scores.evaluation_id,
    scores.scoring_id,
    scores.case_hash,
    scores.run_index,
    scores.metric,
    scores.passed,
    scores.reason,
    scores.detail
from scores
inner join latest_scorings using (scoring_id);

create view latest_reports as
with latest as (
    select suite, target, report_id, evaluation_id, created_at, model_id, case_set_hash
    from reports
    qualify row_number() over (partition by suite, target order by created_at desc, report_id desc) = 1
)

select
    latest.suite,
    latest.target,
    latest.report_id,
    latest.evaluation_id,
    latest.created_at,
    latest.model_id,
    latest.case_set_hash,
    metric_stats.metric,
    metric_stats.passes,
    metric_stats.scored,
    metric_stats.unscored,
    metric_stats.rate,
    metric_stats.ci_low,
    metric_stats.ci_high
from latest
inner join metric_stats using (report_id)
where metric_stats.scope = 'overall'
qualify row_number() over (partition by latest.report_id, metric_stats.metric) = 1;

create view latest_verdicts as
select
    suite,
    candidate,
    outcome,
    reasons,
    decided_by,
    decided_at,
    comparison_id,
    verdict_id,
    baseline_report_id,
    candidate_report_id
from verdicts
qualify row_number() over (partition by suite, candidate order by decided_at desc, verdict_id desc) = 1;
