"""A user's table, of any kind, and how its cells become the numbers that a model is given.

    from hgpbench.data.frames.choices import Choices
    from hgpbench.data.frames.reading import opened
    from hgpbench.data.frames.preprocessing import Preprocessing
    from hgpbench.data.frames.survey import learn

    with opened("mine.csv", choices := Choices(missing="flag", drop=("id",))) as table:  # or a pandas frame
        learnt = learn(table, "y", choices)        # one pass by blocks
        learnt.notes                               # what was left out and why, which columns are dates
        plan = learnt.plan                         # the Preprocessing
        plan.inputs                                # names of the numbers: ("age", "city=Rome", "age missing")
        for block in table.blocks(plan.as_numbers):  # pandas frames of at most BLOCK rows
            rows = plan.training(block)            # rows.X (n, d), rows.y (n,), rows.kept: their places
    plan.encode(frame)                             # rows.X and rows.kept of new data, which need no target
    plan == Preprocessing.from_json(plan.to_json())

``choices``        what the user asked: columns, missing cells, categories, dates, how the text is written
``reading``        a path, ``openml:ID`` or pandas frame as a ``Table``: its columns, and its rows by blocks
``delimited``      CSV and its relatives: header, delimiter, decimal comma
``columnar``       Parquet, Feather and HDF5
``cells``          texts as numbers and dates
``encoding``       one column and the numbers that it becomes: a number, a category, a date
``survey``         one pass over a table that learns a ``Preprocessing``
``preprocessing``  what was learnt: frozen, plain data, to JSON and back; applied to frames and blocks

A refusal is a ``DataError`` of one line that names the option that helps.
"""
