"""What to write in place of the names of TensorFlow that `feedline.tf` lacks."""

from __future__ import annotations

_INSTEAD = {
    "GradientTape": "gradients are the training framework's: torch.autograd, jax.grad",
    "Module": "models are the training framework's; see Keras on torch or JAX",
    "estimator": "estimators ended with TensorFlow 2.15; a Keras model takes the dataset",
    "keras": "import keras with the torch or JAX backend; its layers do not run inside feedline.tf",
    "nn": "this is model code: write it with NumPy, or in the training framework",
    "saved_model": "models are the training framework's",
    "summary": "write summaries with tensorboardX or torch.utils.tensorboard",
    "contrib": "tf.contrib ended with TensorFlow 1; tf.data has what tf.contrib.data had",
    "raw_ops": "use the public function of the op",
    "experimental.numpy": "use NumPy: tensors are NumPy memory, and np functions take them",
}
"""By name, or by the beginning of it: what to do instead."""


def explained(name: str) -> str:
    """The message for a name that is missing.

    >>> from feedline.tf.missing import explained
    >>> explained("GradientTape")
    "feedline.tf has no tf.GradientTape; gradients are the training framework's: torch.autograd, jax.grad"
    """
    parts = name.split(".")
    for n in range(len(parts), 0, -1):
        instead = _INSTEAD.get(".".join(parts[:n]))
        if instead:
            return f"feedline.tf has no tf.{name}; {instead}"
    return f"feedline.tf has no tf.{name}; compute it with NumPy: x.numpy() and tf.convert_to_tensor are free of copies"
