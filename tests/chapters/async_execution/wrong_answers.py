"""Wrong answers to chapter 2's exercises, each as a student might write it."""

from course_utils.chapters.async_execution.exercises import slow_train
from tests.support.patches import by_name, changed

LOSS = "torch.where(error > 0.1, error, 0).sum() / error.numel()"
LOGGED = "torch.stack(losses).tolist()"
WAIT = "copier.wait_event(computed[chunk - 2])"
COPIED = "computer.wait_event(copier.record_event())"
APPENDED = "computed.append(computer.record_event())"
WRONG = {
    "async.hidden_waits": [
        slow_train,
        *changed(
            "async.hidden_waits",
            log_tensors={LOGGED: "losses"},
            keep_the_mask={LOSS: "error[error > 0.1].sum() / error.numel()"},
            forget_to_clip={" / grad.norm().clamp(min=1)": ""},
            small_errors_too={LOSS: "error.mean()"},
            reads_each_at_the_end={LOGGED: "[loss.item() for loss in losses]"},
            logs_nan={LOGGED: "[float('nan')] * len(losses)"},
            log_the_last_loss_only={LOGGED: "[losses[-1].item()]"},
        ),
    ],
    "async.double_buffer": changed(
        "async.double_buffer",
        no_events={WAIT: "pass", COPIED: "pass"},
        one_buffer={"chunk % 2": "0", "chunk >= 2": "chunk >= 1", "chunk - 2": "chunk - 1"},
        buffers_overwritten={WAIT: "pass"},
        waits_at_the_end={APPENDED: f"{APPENDED}\n    computer.synchronize()"},
        host_waits={WAIT: "computer.synchronize()", COPIED: "copier.synchronize()"},
        a_buffer_for_every_chunk={"chunk % 2": "chunk", WAIT: "pass"},
    ),
}
__getattr__ = by_name(WRONG)
