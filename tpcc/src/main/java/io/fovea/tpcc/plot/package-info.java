/**
 * Figures of lines, as SVG and PNG. It knows nothing of what is drawn: a {@link
 * io.fovea.tpcc.plot.Panel} has lines over an x axis, a {@link io.fovea.tpcc.plot.Figure} has
 * panels one below the other.
 *
 * <p>JFreeChart lays out and draws the panels; {@link io.fovea.tpcc.plot.SvgGraphics} writes down
 * what it draws. One thread.
 */
package io.fovea.tpcc.plot;
