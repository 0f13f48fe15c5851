"""The names of `tf.compat.v1.logging` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import DEBUG as DEBUG
from feedline.tf.runtime import ERROR as ERROR
from feedline.tf.runtime import FATAL as FATAL
from feedline.tf.runtime import INFO as INFO
from feedline.tf.runtime import WARN as WARN
from feedline.tf.runtime import debug as debug
from feedline.tf.runtime import error as error
from feedline.tf.runtime import fatal as fatal
from feedline.tf.runtime import get_verbosity as get_verbosity
from feedline.tf.runtime import info as info
from feedline.tf.runtime import log_every_n as log_every_n
from feedline.tf.runtime import log_first_n as log_first_n
from feedline.tf.runtime import set_verbosity as set_verbosity
from feedline.tf.runtime import warn as warn
from feedline.tf.runtime import warning as warning

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log_every_n",
    "log_first_n",
    "set_verbosity",
    "warn",
    "warning",
]
