"""Operations that are no `te.compute`: calls of other code, TVM's operator library, scans, and the storage of tensors."""
