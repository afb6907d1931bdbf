"""Parameter files of the reference program."""

from dataclasses import replace

import pytest

from eigentree.errors import SettingsError
from eigentree.evaluation.settings import EVALB_COLLINS, read_parameters

COLLINS = """\
## a comment ##
DEBUG 0
MAX_ERROR 10
CUTOFF_LEN 40
x
LABELED 1

DELETE_LABEL TOP
DELETE_LABEL -NONE-
DELETE_LABEL ,
DELETE_LABEL :
DELETE_LABEL ``
DELETE_LABEL ''
DELETE_LABEL .
DELETE_LABEL_FOR_LENGTH -NONE-
EQ_LABEL\tADVP  PRT\r
# EQ_WORD one other
"""


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "my.prm"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_collins_parameters_are_the_ready_made_settings(write):
    found = read_parameters(write("\ufeff" + COLLINS))
    assert found.name == "EVALB, my.prm"
    assert replace(found, name=EVALB_COLLINS.name) == EVALB_COLLINS


def test_other_parameters(write):
    text = "CUTOFF_LEN 10\nLABELED 0\nQUOTE_LABEL POS\nQUOTE_LABEL ''\nEQ_WORD colour color\n"
    found = read_parameters(write(text))
    assert (found.cut_off, found.labelled, found.quote_labels) == (10, False, ("POS", "''"))
    assert found.equal_words == (("colour", "color"),)
    assert found.delete_labels == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DEBUG 0\nDELETE_LABELS X\n", r"my\.prm:2: DELETE_LABELS is not a keyword"),
        ("CUTOFF_LEN forty\n", r"my\.prm:1: CUTOFF_LEN has the value 'forty'"),
        ("EQ_LABEL A B C\n", r"my\.prm:1: EQ_LABEL has the value 'A B C', which must be two"),
        ("\nDELETE_LABEL\n", r"my\.prm:2: DELETE_LABEL has no value"),
        ("CUTOFF_LEN " + "9" * 5000, r"my\.prm:1: CUTOFF_LEN has the value '9{1,60}\.\.\., which"),
    ],
)
def test_faulty_parameters_are_refused_with_their_line(write, text, message):
    with pytest.raises(SettingsError, match=message):
        read_parameters(write(text))
