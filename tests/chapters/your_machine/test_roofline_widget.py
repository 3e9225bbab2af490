"""The roofline's widget: its point moves with the layer, its dtypes with the GPU."""

from course_utils.chapters.your_machine.roofline_widget import roofline_point


def test_the_widgets_point_crosses_the_ridge_and_its_dtypes_are_those_of_the_gpu():
    gpu, dtype, batch, n_in, n_out, picture, reading = roofline_point().children
    batch.value = 128
    before = picture.value
    assert "waits for <b>memory</b>" in reading.value and "from batch <b>230</b>" in reading.value
    batch.value = 256
    assert "waits for <b>compute</b>" in reading.value and picture.value != before
    n_in.value = n_out.value = 64
    assert "waits for <b>memory</b>" in reading.value and "at <b>no</b> batch" in reading.value
    dtype.value = "FP8"
    gpu.label = "A100 80 GB SXM"
    assert dtype.options == ("FP32", "TF32", "FP16", "BF16") and dtype.value in dtype.options
