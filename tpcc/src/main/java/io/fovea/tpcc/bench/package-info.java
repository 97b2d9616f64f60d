/**
 * What drivers of a database have in common, whatever their transactions are: threads that begin
 * and end together, clients that share them, random numbers, histograms, the series of a run, the
 * report in JSON, exit codes. Imports no other package of the driver.
 */
package io.fovea.tpcc.bench;
