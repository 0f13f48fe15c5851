"""The face of feedline: tf.data's classes and functions."""
