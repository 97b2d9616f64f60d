package io.fovea.btree;

/**
 * Says in words what is wrong with a node. It is caught where every other offset that leads out of
 * a page is caught: {@link TreeDamage} makes it a message with the page's number.
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
