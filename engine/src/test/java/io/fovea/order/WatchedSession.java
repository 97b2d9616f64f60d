package io.fovea.order;

import io.fovea.faults.FaultAgent;
import io.fovea.faults.SelfAttach;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Loads the test agents before test discovery: fault injection, and on request the lock order
 * check.
 */
public final class WatchedSession implements LauncherSessionListener {
  private static boolean opened;

  @Override
  public void launcherSessionOpened(LauncherSession session) {
    if (!opened && SelfAttach.isAllowed()) {
      opened = true;
      FaultAgent.load();
      LockOrderAgent.watch();
    }
  }
}
