"""The names of `tf.compat.v1.logging` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import DEBUG as DEBUG
from feedline.tf.runtime import ERROR as ERROR
from feedline.tf.runtime import FATAL as FATAL
from feedline.tf.runtime import INFO as INFO
from feedline.tf.runtime import WARN as WARN
from feedline.tf.runtime import debug as debug
from feedline.tf.runtime import error as error
from feedline.tf.runtime import fatal as fatal
from feedline.tf.runtime import flush as flush
from feedline.tf.runtime import get_verbosity as get_verbosity
from feedline.tf.runtime import info as info
from feedline.tf.runtime import log as log
from feedline.tf.runtime import log_every_n as log_every_n
from feedline.tf.runtime import log_first_n as log_first_n
from feedline.tf.runtime import log_if as log_if
from feedline.tf.runtime import set_verbosity as set_verbosity
from feedline.tf.runtime import vlog as vlog
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
    "flush",
    "get_verbosity",
    "info",
    "log",
    "log_every_n",
    "log_first_n",
    "log_if",
    "set_verbosity",
    "vlog",
    "warn",
    "warning",
]
