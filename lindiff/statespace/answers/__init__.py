"""What a model says of data, as people read it: with names, dates and intervals.

Every line imports only from lines above it::

    labels                                   dates and names of data
    bands, tables, diagnostics               means with intervals; text; statistics of residuals
    contributions, disturbances, residuals   parts of the model, and what it leaves over
    extending, news                          more steps; what new data changed
    expectation                              a step of expectation maximization
    observations                             with intervals where they are missing
    kinds                                    what differs between linear and nonlinear models
    plots
    analysis
"""

from lindiff.statespace.answers.analysis import Analysis, Forecast, ResidualTests
from lindiff.statespace.answers.bands import Band, check_alpha
from lindiff.statespace.answers.contributions import ComponentBands
from lindiff.statespace.answers.disturbances import Disturbances
from lindiff.statespace.answers.labels import labelled, own
from lindiff.statespace.answers.news import News
from lindiff.statespace.answers.tables import Section, Summary

__all__ = [
    "Analysis",
    "Band",
    "ComponentBands",
    "Disturbances",
    "Forecast",
    "News",
    "ResidualTests",
    "Section",
    "Summary",
    "check_alpha",
    "labelled",
    "own",
]
