"""Right answers to chapter 2's exercises, in other ways than the worked solutions."""

from tests.support.patches import changed

LOGGED = "torch.stack(losses).tolist()"
RIGHT = {
    "async.hidden_waits": changed(
        "async.hidden_waits",
        a_mask_is_multiplied={
            "torch.where(error > 0.1, error, 0).sum() / error.numel()": "(error * (error > 0.1))"
            ".mean()"
        },
        logs_an_array={LOGGED: 'torch.stack(losses).to("cpu").numpy()'},
        one_by_one_from_a_copy={LOGGED: "(loss.item() for loss in torch.stack(losses).cpu())"},
    ),
    "async.double_buffer": changed(
        "async.double_buffer",
        the_other_buffer_first={"chunk % 2": "1 - chunk % 2"},
    ),
}
