module gatehouse.example/gatehouse

go 1.22
