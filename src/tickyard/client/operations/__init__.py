"""Every operation of the service. Written by `python -m tickyard.clientgen`."""

from tickyard.client.operations import alerts, earn, execution, history, payments, registry, research, trading
from tickyard.client.routes import Route

ROUTES: dict[str, Route] = {
    **research.ROUTES,
    **trading.ROUTES,
    **history.ROUTES,
    **registry.ROUTES,
    **alerts.ROUTES,
    **earn.ROUTES,
    **payments.ROUTES,
    **execution.ROUTES,
}


class AsyncOperations(
    research.AsyncResearchGroup,
    trading.AsyncTradingGroup,
    history.AsyncHistoryGroup,
    registry.AsyncRegistryGroup,
    alerts.AsyncAlertsGroup,
    earn.AsyncEarnGroup,
    payments.AsyncPaymentsGroup,
    execution.AsyncExecutionGroup,
):
    """One method per operation."""


class Operations(
    research.ResearchGroup,
    trading.TradingGroup,
    history.HistoryGroup,
    registry.RegistryGroup,
    alerts.AlertsGroup,
    earn.EarnGroup,
    payments.PaymentsGroup,
    execution.ExecutionGroup,
):
    """One method per operation."""
