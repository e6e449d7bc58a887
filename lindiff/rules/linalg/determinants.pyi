from lindiff.linalg._operation import Operation

inv: Operation
det: Operation
slogdet: Operation
