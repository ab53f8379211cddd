"""The sandbox's own table. These rows do not exist outside the sandbox profile."""

from tickyard.kernel.errors import BadRequest, NoLiquidity, NotFound, UpstreamDown
from tickyard.kernel.operation import Operation
from tickyard.sandbox.controls import operations as controls
from tickyard.sandbox.controls import slots as living

SANDBOX_CATALOG: tuple[Operation, ...] = (
    Operation(
        name="show_sandbox",
        method="GET",
        path="/sandbox",
        run=controls.show_sandbox,
        answer=controls.SandboxInfo,
        failures=(),
        tag="sandbox",
    ),
    Operation(
        name="read_sandbox_clock",
        method="GET",
        path="/sandbox/clock",
        run=controls.read_clock,
        answer=controls.ClockReading,
        failures=(),
        tag="sandbox",
    ),
    Operation(
        name="move_sandbox_clock",
        method="POST",
        path="/sandbox/clock",
        run=controls.move_clock,
        ask=controls.ClockAsk,
        answer=controls.ClockReading,
        failures=(BadRequest,),
        tag="sandbox",
    ),
    Operation(
        name="run_sandbox_tick",
        method="POST",
        path="/sandbox/tick",
        run=controls.run_tick,
        answer=living.TickReport,
        failures=(BadRequest, UpstreamDown),
        tag="sandbox",
    ),
    Operation(
        name="move_sandbox_price",
        method="POST",
        path="/sandbox/price",
        run=controls.move_price,
        ask=controls.MoveAsk,
        answer=controls.MovedPrice,
        failures=(BadRequest, NotFound, NoLiquidity),
        tag="sandbox",
    ),
    Operation(
        name="fund_sandbox_wallet",
        method="POST",
        path="/sandbox/fund",
        run=controls.fund_wallet,
        ask=controls.FundAsk,
        answer=controls.Funded,
        failures=(BadRequest, NotFound),
        tag="sandbox",
    ),
    Operation(
        name="read_sandbox_inbox",
        method="GET",
        path="/sandbox/inbox",
        run=controls.read_inbox,
        ask=controls.InboxAsk,
        answer=controls.InboxContents,
        failures=(BadRequest,),
        tag="sandbox",
    ),
    Operation(
        name="set_sandbox_fault",
        method="POST",
        path="/sandbox/fault",
        run=controls.set_fault,
        ask=controls.FaultAsk,
        answer=controls.Fault,
        failures=(BadRequest, UpstreamDown),
        tag="sandbox",
    ),
)
