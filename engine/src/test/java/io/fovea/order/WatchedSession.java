package io.fovea.order;

import io.fovea.faults.FaultAgent;
import io.fovea.faults.SelfAttach;
import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Loads the agents of the tests, before the first test is looked for: faults for all of them, and
 * the check of the order of locks where it is asked for.
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
