"""From a table to predictions: a model and what it needs of a table, fitted, saved and loaded as one.

``predictor``  the model with its preprocessing; in Python ``hgpbench.load`` gives one
``fitting``    a model by name and parameters, or the one of a finished experiment, fitted to all rows
``streaming``  predictions for a table larger than memory, block by block into a file
"""
