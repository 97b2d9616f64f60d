package io.fovea.btree;

/**
 * Describes damage of a node. Caught with all other out-of-page offsets; {@link TreeDamage} adds
 * the page id.
 */
final class NodeDamage extends IndexOutOfBoundsException {
  private static final long serialVersionUID = 1L;

  final long expected;
  final long found;

  NodeDamage(String what, long expected, long found) {
    super(what);
    this.expected = expected;
    this.found = found;
  }
}
