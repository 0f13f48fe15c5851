"""The names of `tf.keras.applications` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.keras.applications import convnext as convnext
from feedline.tf.keras.applications import densenet as densenet
from feedline.tf.keras.applications import efficientnet as efficientnet
from feedline.tf.keras.applications import efficientnet_v2 as efficientnet_v2
from feedline.tf.keras.applications import imagenet_utils as imagenet_utils
from feedline.tf.keras.applications import inception_resnet_v2 as inception_resnet_v2
from feedline.tf.keras.applications import inception_v3 as inception_v3
from feedline.tf.keras.applications import mobilenet as mobilenet
from feedline.tf.keras.applications import mobilenet_v2 as mobilenet_v2
from feedline.tf.keras.applications import mobilenet_v3 as mobilenet_v3
from feedline.tf.keras.applications import nasnet as nasnet
from feedline.tf.keras.applications import resnet as resnet
from feedline.tf.keras.applications import resnet50 as resnet50
from feedline.tf.keras.applications import resnet_v2 as resnet_v2
from feedline.tf.keras.applications import vgg16 as vgg16
from feedline.tf.keras.applications import vgg19 as vgg19
from feedline.tf.keras.applications import xception as xception

__all__ = [
    "convnext",
    "densenet",
    "efficientnet",
    "efficientnet_v2",
    "imagenet_utils",
    "inception_resnet_v2",
    "inception_v3",
    "mobilenet",
    "mobilenet_v2",
    "mobilenet_v3",
    "nasnet",
    "resnet",
    "resnet50",
    "resnet_v2",
    "vgg16",
    "vgg19",
    "xception",
]
