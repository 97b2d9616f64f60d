/**
 * Figures of lines and bars, as SVG and PNG, independent of what they show: a {@link
 * io.fovea.tpcc.plot.Panel} has lines over an x axis, a {@link io.fovea.tpcc.plot.Figure} stacks
 * panels.
 *
 * <p>JFreeChart lays out and draws the panels; {@link io.fovea.tpcc.plot.SvgGraphics} records what
 * it draws. One thread.
 */
package io.fovea.tpcc.plot;
