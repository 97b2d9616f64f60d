/**
 * Tests with power failures, faulty disks and killed processes.
 *
 * <pre>
 *   Generator(seed) ──► Step ──┬──► State      its effect on a model: sorted maps
 *                              └──► Database   its effect on the engine
 *
 *   Session       a database on a SimDisk, the states it has been through, which of them were
 *                 acknowledged, and snapshots of the disk before its operations
 *   CrashExplorer snapshot ─► crash ─► recover ─► an allowed state? ─► continue ─► snapshots ...
 * </pre>
 */
@NullMarked
package io.fovea.crash;

import org.jspecify.annotations.NullMarked;
