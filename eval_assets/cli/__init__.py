"""
The command line. Prints what the core says; the exit code is the verdict.

    main.py      the group, and errors → exit codes
    commands.py  one function per command
    files.py     the files commands write
    progress.py  how far a run is, on stderr
    terminal.py  documents as a terminal shows them
    ui.py        `dagster dev` with this project's instance

Nothing heavy is imported here: each command imports what it needs, so that `--help` answers at once.
"""
