"""Random generators: their numbers, and their states."""

from tests.tf.evaluate import each

CASES = [
    *each(
        "tf.random.Generator.from_seed({s}).{f}",
        s=["1", "-5", "2 ** 70 + 3", "[1, 2]", "3, alg='philox'"],
        f=[
            *(
                "uniform([5])",
                "uniform([2, 3], 2.0, 5.0)",
                "uniform([6], 0, 100, tf.int32)",
                "uniform([2], dtype=tf.float16)",
            ),
            *("uniform([6], -3, 10 ** 12, tf.int64)", "uniform_full_int([3])", "uniform_full_int([3], tf.int32)"),
            *("normal([5])", "normal([2, 2], 1.0, 2.0, tf.float64)", "truncated_normal([5])", "make_seeds(3)", "state"),
            *("skip(4)", "split(2)[1].normal([2])", "key", "algorithm", "uniform([0])"),
        ],
    ),
    *each("tf.random.Generator.from_state([-2, {c}, 77], 'philox').{f}", c=["5", "-1"], f=["uniform([12])", "skip(1)"]),
    *each("tf.random.Generator.from_key_counter(3, [1, 2], 'philox').{f}", f=["state", "normal([3])"]),
    *each("tf.random.Generator(copy_from=tf.random.Generator.from_seed(4)).{f}", f=["state", "uniform([2])"]),
]
CLOSE = {"normal": 1e-5}
