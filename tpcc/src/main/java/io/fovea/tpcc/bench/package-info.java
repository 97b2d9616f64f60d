/**
 * The parts of a database driver that do not depend on its transactions: threads that start and end
 * together, clients that share them, random numbers, histograms, the series of a run, the JSON
 * report, exit codes. Imports no other package of the driver.
 */
package io.fovea.tpcc.bench;
