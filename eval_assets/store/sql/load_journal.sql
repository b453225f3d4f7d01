-- The paths of a journal line are those of a dumped Run; a line without a run is the header.
insert into run_outputs by name
select
    $evaluation_id as evaluation_id,
    run.case_name as case_name,
    run.case_hash as case_hash,
    run.run_index as run_index,
    run.run_id as run_id,
    run.output.final as final,
    run.output.messages as messages,
    tool_calls,
    steps,
    output_digest,
    output_characters,
    run.output.trajectory as stated_trajectory,
    run.output.error as error,
    run.output.unavailable as unavailable,
    run.output.trace_error as trace_error,
    run.output.latency_s as latency_s,
    run.output.usage.input_tokens as input_tokens,
    run.output.usage.output_tokens as output_tokens,
    run.output.finish_reason as finish_reason,
    run.output.response_id as response_id,
    run.output.served_by as served_by,
    run.output.attempts as attempts,
    run.output.scores as scores,
    run.started_at as started_at
from read_json(
    $journal,
    format = 'newline_delimited',
    maximum_object_size = $longest_line,
    columns = {
        run: 'struct(
            case_name varchar,
            case_hash varchar,
            run_index integer,
            run_id varchar,
            started_at timestamptz,
            output struct(
                "final" varchar,
                messages json,
                usage struct(input_tokens bigint, output_tokens bigint),
                latency_s double,
                error varchar,
                unavailable boolean,
                trace_error varchar,
                finish_reason varchar,
                response_id varchar,
                served_by varchar,
                attempts integer,
                scores json,
                trajectory json
            )
        )',
        steps: 'integer',
        output_digest: 'varchar',
        output_characters: 'integer',
        tool_calls: 'varchar[]'
    }
)
where run is not null
