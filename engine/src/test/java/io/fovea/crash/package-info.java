/**
 * Tests that break the machine: power that fails, disks that lie, processes that are killed.
 *
 * <pre>
 *   Generator(seed) ──► Step ──┬──► State      what it does to a model: sorted maps
 *                              └──► Database   what it does to the engine
 *
 *   Session       a database on a SimDisk, the states it has been through, which of them were
 *                 acknowledged, and snapshots of the disk before its operations
 *   CrashExplorer snapshot ─► crash ─► recover ─► one of the states? ─► goes on? ─► snapshots ...
 * </pre>
 */
@NullMarked
package io.fovea.crash;

import org.jspecify.annotations.NullMarked;
