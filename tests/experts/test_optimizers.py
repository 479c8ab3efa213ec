"""Optimisers as objects and as text."""

import pytest

from hgpbench.experts.optimizers import WORDS, Lbfgs, Optimizer, Paper, Passes, read, write


@pytest.mark.parametrize(
    ("text", "optimizer", "shortest"),
    [
        ("natural", Passes(), "natural"),
        ("natural()", Passes(), "natural"),
        ("natural(n_passes=20)", Passes(20), "natural(n_passes=20)"),
        (" natural( guard = False , n_passes=20 ) ", Passes(20, False), "natural(n_passes=20, guard=false)"),
        ("natural(guard=true, n_passes=null)", Passes(), "natural"),
        ("lbfgs(max_iter=7)", Lbfgs(7), "lbfgs(max_iter=7)"),
        ("paper(max_iter=100)", Paper(), "paper"),
        (
            "paper(first_lambda=2.0, stages=1)",
            Paper(first_lambda=2, stages=1),
            "paper(first_lambda=2, stages=1)",
        ),
        ("paper(first_lambda=.1)", Paper(first_lambda=0.1), "paper(first_lambda=0.1)"),
        ("paper(first_lambda=0.5, stages=2)", Paper(), "paper"),
    ],
)
def test_text_stands_for_an_optimizer(text: str, optimizer: Optimizer, shortest: str) -> None:
    assert read(text) == optimizer == read(optimizer)
    assert write(text) == write(optimizer) == shortest
    assert read(shortest) == optimizer


def test_every_word_without_settings_is_the_usual_optimizer() -> None:
    assert {word: read(word) for word in WORDS} == {"natural": Passes(), "lbfgs": Lbfgs(), "paper": Paper()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "sgd",
            r"optimizer='sgd' is not allowed: it must be one of 'natural', 'lbfgs', 'paper', with settings",
        ),
        ("", "optimizer='' is not allowed"),
        ("natural(", r"optimizer='natural\(' is not allowed: it must be one of"),
        ("natural(max_iter=3)", "'max_iter=3' is no setting of natural; settings: n_passes, guard"),
        ("paper(20)", "'20' is no setting of paper; settings: max_iter, first_lambda"),
        ("paper(first_lambda=0)", "first_lambda=0 is not allowed: it must be a number of at least 0.001"),
        ("paper(first_lambda=1.2.3)", "first_lambda='1.2.3' is not allowed"),
        ("paper(stages=3)", "stages=3 is not allowed: it must be 1 or 2"),
        ("paper(stages=true)", "stages=True is not allowed"),
        ("natural(n_passes=0)", "n_passes=0 is not allowed: it must be an integer of at least 1"),
        ("natural(n_passes=few)", "n_passes='few' is not allowed"),
        ("natural(guard=2)", "guard=2 is not allowed: it must be true or false"),
        ("lbfgs(max_iter=true)", "max_iter=True is not allowed"),
    ],
)
def test_other_text_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        read(text)
    assert "\n" not in str(refusal.value)
