"""The names of `tf.compat.v1.image` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.image_ops import ResizeMethod as ResizeMethod
from feedline.tf.image_ops import adjust_brightness as adjust_brightness
from feedline.tf.image_ops import adjust_contrast as adjust_contrast
from feedline.tf.image_ops import adjust_gamma as adjust_gamma
from feedline.tf.image_ops import adjust_hue as adjust_hue
from feedline.tf.image_ops import adjust_jpeg_quality as adjust_jpeg_quality
from feedline.tf.image_ops import adjust_saturation as adjust_saturation
from feedline.tf.image_ops import central_crop as central_crop
from feedline.tf.io_ops import convert_image_dtype as convert_image_dtype
from feedline.tf.v1_ops import crop_and_resize as crop_and_resize
from feedline.tf.image_ops import crop_to_bounding_box as crop_to_bounding_box
from feedline.tf.io_ops import decode_and_crop_jpeg as decode_and_crop_jpeg
from feedline.tf.io_ops import decode_bmp as decode_bmp
from feedline.tf.io_ops import decode_gif as decode_gif
from feedline.tf.io_ops import decode_image as decode_image
from feedline.tf.io_ops import decode_jpeg as decode_jpeg
from feedline.tf.io_ops import decode_png as decode_png
from feedline.tf.v1_ops import draw_bounding_boxes as draw_bounding_boxes
from feedline.tf.io_ops import encode_jpeg as encode_jpeg
from feedline.tf.io_ops import encode_png as encode_png
from feedline.tf.v1_ops import extract_image_patches as extract_image_patches
from feedline.tf.io_ops import extract_jpeg_shape as extract_jpeg_shape
from feedline.tf.image_ops import extract_patches as extract_patches
from feedline.tf.image_ops import flip_left_right as flip_left_right
from feedline.tf.image_ops import flip_up_down as flip_up_down
from feedline.tf.image_ops import grayscale_to_rgb as grayscale_to_rgb
from feedline.tf.image_ops import hsv_to_rgb as hsv_to_rgb
from feedline.tf.image_ops import image_gradients as image_gradients
from feedline.tf.io_ops import is_jpeg as is_jpeg
from feedline.tf.image_ops import non_max_suppression as non_max_suppression
from feedline.tf.image_ops import pad_to_bounding_box as pad_to_bounding_box
from feedline.tf.image_ops import per_image_standardization as per_image_standardization
from feedline.tf.image_ops import psnr as psnr
from feedline.tf.image_ops import random_brightness as random_brightness
from feedline.tf.image_ops import random_contrast as random_contrast
from feedline.tf.random_ops import random_crop as random_crop
from feedline.tf.image_ops import random_flip_left_right as random_flip_left_right
from feedline.tf.image_ops import random_flip_up_down as random_flip_up_down
from feedline.tf.image_ops import random_hue as random_hue
from feedline.tf.image_ops import random_jpeg_quality as random_jpeg_quality
from feedline.tf.image_ops import random_saturation as random_saturation
from feedline.tf.image_ops import resize_images as resize
from feedline.tf.image_ops import resize_area as resize_area
from feedline.tf.image_ops import resize_bicubic as resize_bicubic
from feedline.tf.image_ops import resize_bilinear as resize_bilinear
from feedline.tf.image_ops import resize_with_crop_or_pad as resize_image_with_crop_or_pad
from feedline.tf.image_ops import resize_image_with_pad as resize_image_with_pad
from feedline.tf.image_ops import resize_images as resize_images
from feedline.tf.image_ops import resize_nearest_neighbor as resize_nearest_neighbor
from feedline.tf.image_ops import resize_with_crop_or_pad as resize_with_crop_or_pad
from feedline.tf.image_ops import resize_with_pad as resize_with_pad
from feedline.tf.image_ops import rgb_to_grayscale as rgb_to_grayscale
from feedline.tf.image_ops import rgb_to_hsv as rgb_to_hsv
from feedline.tf.image_ops import rgb_to_yiq as rgb_to_yiq
from feedline.tf.image_ops import rgb_to_yuv as rgb_to_yuv
from feedline.tf.image_ops import rot90 as rot90
from feedline.tf.v1_ops import sample_distorted_bounding_box as sample_distorted_bounding_box
from feedline.tf.image_ops import stateless_random_brightness as stateless_random_brightness
from feedline.tf.image_ops import stateless_random_contrast as stateless_random_contrast
from feedline.tf.random_ops import stateless_random_crop as stateless_random_crop
from feedline.tf.image_ops import stateless_random_flip_left_right as stateless_random_flip_left_right
from feedline.tf.image_ops import stateless_random_flip_up_down as stateless_random_flip_up_down
from feedline.tf.image_ops import stateless_random_hue as stateless_random_hue
from feedline.tf.image_ops import stateless_random_jpeg_quality as stateless_random_jpeg_quality
from feedline.tf.image_ops import stateless_random_saturation as stateless_random_saturation
from feedline.tf.image_ops import stateless_sample_distorted_bounding_box as stateless_sample_distorted_bounding_box
from feedline.tf.image_ops import total_variation as total_variation
from feedline.tf.image_ops import transpose as transpose
from feedline.tf.image_ops import transpose as transpose_image
from feedline.tf.image_ops import yiq_to_rgb as yiq_to_rgb
from feedline.tf.image_ops import yuv_to_rgb as yuv_to_rgb

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "stateless_random_brightness",
    "stateless_random_contrast",
    "stateless_random_crop",
    "stateless_random_flip_left_right",
    "stateless_random_flip_up_down",
    "stateless_random_hue",
    "stateless_random_jpeg_quality",
    "stateless_random_saturation",
    "stateless_sample_distorted_bounding_box",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
