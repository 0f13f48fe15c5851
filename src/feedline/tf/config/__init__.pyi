"""The names of `tf.config` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.runtime import ignored as experimental_connect_to_cluster
from feedline.tf.runtime import ignored as experimental_connect_to_host
from feedline.tf.control_flow import functions_run_eagerly as functions_run_eagerly
from feedline.tf.runtime import list_physical_devices as get_visible_devices
from feedline.tf.runtime import list_physical_devices as list_logical_devices
from feedline.tf.runtime import list_physical_devices as list_physical_devices
from feedline.tf.control_flow import run_functions_eagerly as run_functions_eagerly
from feedline.tf.runtime import ignored as set_logical_device_configuration
from feedline.tf.runtime import ignored as set_soft_device_placement
from feedline.tf.runtime import ignored as set_visible_devices
from feedline.tf.config import experimental as experimental
from feedline.tf.config import optimizer as optimizer
from feedline.tf.config import threading as threading

__all__ = [
    "experimental_connect_to_cluster",
    "experimental_connect_to_host",
    "functions_run_eagerly",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
    "experimental",
    "optimizer",
    "threading",
]
